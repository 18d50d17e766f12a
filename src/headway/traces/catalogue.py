"""Built-in profiles: the six models of Pollux's evaluation, so that no outside file is needed.

Throughput parameters were fitted here to the step times that were published with Pollux
(petuum/adaptdl, branch osdi21-artifact, simulator/traces; Apache-2.0): AWS g4dn.12xlarge, four T4
GPUs a node, up to 16 nodes. ``fit_error`` is the mean relative error over all of them. Work and
noise scales are those of the validation runs there, at the smallest and at the largest batch size,
every tenth of the progress.
"""

from headway.core.types import BatchContract, BatchMode, ThroughputParams
from headway.traces.modelled import ModelledProfile

CIFAR10 = ModelledProfile(
    name="cifar10",
    contract=BatchContract(
        initial_batch_size=128,
        max_batch_size=4_096,
        min_batch_per_gpu=32,
        max_batch_per_gpu=1_024,
        mode=BatchMode.ADAPTIVE,
    ),
    max_gpus=64,
    work_examples=4_999_936.0,
    epochs=100,
    params=ThroughputParams(
        alpha_grad_s=0.0132952,
        beta_grad_s=0.000743979,
        alpha_local_s=0.0376778,
        beta_local_s=0.0046927,
        alpha_node_s=0.124593,
        beta_node_s=0.00260266,
        gamma=2.56738,
    ),
    noise_at_initial=(72, 830, 2104, 2788, 3834, 4837, 6444, 1e4, 1.8e4, 2.6e4, 3.9e4),
    noise_at_largest=(106, 2920, 5470, 7961, 1.2e4, 1.8e4, 3e4, 9.9e4, 1.21e5, 1.71e5, 1.62e5),
    fit_error=0.0698,
)
NCF = ModelledProfile(
    name="ncf",
    contract=BatchContract(
        initial_batch_size=256,
        max_batch_size=32_768,
        min_batch_per_gpu=32,
        max_batch_per_gpu=32_768,
        mode=BatchMode.ADAPTIVE,
    ),
    max_gpus=1,  # as the published simulator holds it
    work_examples=49_708_544.0,
    epochs=10,
    params=ThroughputParams(
        alpha_grad_s=0.00681919,
        beta_grad_s=7.42283e-07,
        alpha_local_s=0.00285187,
        beta_local_s=0.00126847,
        alpha_node_s=0.014303,
        beta_node_s=0.000505859,
        gamma=1.0,
    ),
    noise_at_initial=(
        1.9e4,
        1.9e4,
        7.7e6,
        2.98e5,
        6.9e6,
        7.5e6,
        2.08e7,
        1.83e7,
        3.92e7,
        3.92e7,
        5.91e7,
    ),
    noise_at_largest=(
        2.07e5,
        2.07e5,
        1.7e6,
        1.7e6,
        1.7e6,
        4.2e6,
        8.1e6,
        5.7e7,
        6.5e7,
        6.37e7,
        6.37e7,
    ),
    fit_error=0.0906,
)
BERT = ModelledProfile(
    name="bert",
    contract=BatchContract(
        initial_batch_size=12,
        max_batch_size=384,
        min_batch_per_gpu=4,
        max_batch_per_gpu=12,
        mode=BatchMode.ADAPTIVE,
    ),
    max_gpus=64,
    work_examples=177_288.0,
    epochs=2,
    params=ThroughputParams(
        alpha_grad_s=0.165752,
        beta_grad_s=0.0591648,
        alpha_local_s=0.26658,
        beta_local_s=0.0411353,
        alpha_node_s=1.34771,
        beta_node_s=0.0117928,
        gamma=1.97208,
    ),
    noise_at_initial=(423, 423, 423, 423, 423, 423, 1124, 1124, 1124, 1124, 1124),
    noise_at_largest=(1.1e4, 1.1e4, 1.1e4, 1.1e4, 1.1e4, 1.1e4, 1.3e4, 1.3e4, 1.3e4, 1.3e4, 1.3e4),
    fit_error=0.0621,
)
DEEPSPEECH2 = ModelledProfile(
    name="deepspeech2",
    contract=BatchContract(
        initial_batch_size=20,
        max_batch_size=640,
        min_batch_per_gpu=10,
        max_batch_per_gpu=80,
        mode=BatchMode.ADAPTIVE,
    ),
    max_gpus=64,
    work_examples=570_720.0,
    epochs=80,
    params=ThroughputParams(
        alpha_grad_s=0.205097,
        beta_grad_s=0.027849,
        alpha_local_s=0.267495,
        beta_local_s=0.132176,
        alpha_node_s=0.786897,
        beta_node_s=0.0104817,
        gamma=2.57466,
    ),
    noise_at_initial=(10, 248, 1265, 4230, 1.2e4, 2.1e4, 5.6e4, 7.96e7, 1.4e6, 9.4e4, 2.11e5),
    noise_at_largest=(13, 687, 1654, 3703, 5215, 2.3e4, 1.01e5, 1.6e6, 7.1e4, 6.7e4, 8.5e4),
    fit_error=0.0763,
)
YOLOV3 = ModelledProfile(
    name="yolov3",
    contract=BatchContract(
        initial_batch_size=8,
        max_batch_size=512,
        min_batch_per_gpu=4,
        max_batch_per_gpu=8,
        mode=BatchMode.ADAPTIVE,
    ),
    max_gpus=64,
    work_examples=827_552.0,
    epochs=50,
    params=ThroughputParams(
        alpha_grad_s=0.162643,
        beta_grad_s=0.0240327,
        alpha_local_s=0.0533017,
        beta_local_s=0.0811447,
        alpha_node_s=0.690684,
        beta_node_s=0.0116209,
        gamma=1.0,
    ),
    noise_at_initial=(0.65, 239, 331, 369, 611, 434, 624, 882, 1659, 2191, 5099),
    noise_at_largest=(0.26, 309, 451, 401, 495, 592, 971, 844, 1354, 2697, 1380),
    fit_error=0.0882,
)
IMAGENET = ModelledProfile(
    name="imagenet",
    contract=BatchContract(
        initial_batch_size=200,
        max_batch_size=12_800,
        min_batch_per_gpu=20,
        max_batch_per_gpu=200,
        mode=BatchMode.ADAPTIVE,
    ),
    max_gpus=64,
    work_examples=115_305_000.0,
    epochs=90,
    params=ThroughputParams(
        alpha_grad_s=0.0611059,
        beta_grad_s=0.00454411,
        alpha_local_s=0.0701728,
        beta_local_s=0.0107397,
        alpha_node_s=0.30733,
        beta_node_s=0.0062173,
        gamma=2.89707,
    ),
    noise_at_initial=(928, 5343, 5893, 6034, 1.2e4, 1.1e4, 1.1e4, 1.5e4, 1.4e4, 1.4e4, 1.4e4),
    noise_at_largest=(
        1056,
        9619,
        1.2e4,
        1.3e4,
        5.6e4,
        4.2e4,
        3.9e4,
        2.75e5,
        2.15e5,
        1.93e5,
        1.74e5,
    ),
    fit_error=0.0697,
)

CATALOGUE = {
    profile.name: profile for profile in (BERT, CIFAR10, DEEPSPEECH2, IMAGENET, NCF, YOLOV3)
}
