"""Blocks become one program."""

import numpy as np

from headway.core.solve.assembly import Assembly, Program


def dense(program: Program) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The matrix of a program, written out."""
    matrix = np.zeros((len(program.row_lower), len(program.cost)))
    for column in range(matrix.shape[1]):
        entries = slice(program.starts[column], program.starts[column + 1])
        matrix[program.indices[entries], column] = program.values[entries]
    return matrix


def test_blocks_keep_their_places_and_equal_entries_add_up() -> None:
    assembly = Assembly(offset=2.0)
    first = assembly.add_columns(np.array([1.0, 2.0]), upper=1.0)
    second = assembly.add_columns(np.array([3.0]), integer=False)
    row = assembly.add_rows(2, lower=[0.0, 1.0], upper=4.0)
    assembly.add_entries(row[[1, 0]], first, [5.0, 6.0])
    assembly.add_entries(row[[0, 0]], second[[0, 0]], [1.0, 2.0])
    program = assembly.program()
    assert dense(program).tolist() == [[0.0, 6.0, 3.0], [5.0, 0.0, 0.0]]
    assert program.cost.tolist() == [1.0, 2.0, 3.0]
    assert program.upper.tolist() == [1.0, 1.0, np.inf]
    assert program.integer.tolist() == [True, True, False]
    assert program.row_lower.tolist() == [0.0, 1.0]
    assert program.row_upper.tolist() == [4.0, 4.0]
    assert program.offset == 2.0
    assert [part.tolist() for part in program.start] == [[], []]


def test_a_start_names_rows_and_the_columns_in_their_places() -> None:
    assembly = Assembly()
    column, row = assembly.add_columns(np.ones(3)), assembly.add_rows(2, upper=1.0)
    assembly.add_entries(row[[0, 1]], column[[2, 1]])
    assembly.start_with(row[:1], column[2:])
    assembly.start_with(row[1:], column[1:2])
    assert [part.tolist() for part in assembly.program().start] == [[0, 1], [2, 1]]


def test_empty_blocks_leave_a_program_whole() -> None:
    assembly = Assembly()
    assembly.add_columns(np.zeros(0))
    column = assembly.add_columns(np.ones(2))
    row = assembly.add_rows(0)
    assembly.add_entries(row, column[:0])
    program = assembly.program()
    assert dense(program).shape == (0, 2)
    assert program.starts.tolist() == [0, 0, 0]
