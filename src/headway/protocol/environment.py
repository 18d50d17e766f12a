"""Names that agents, workers and engines agree on: environment variables, files, exit codes.

A worker finds the usual variables too: RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR,
MASTER_PORT and, where there are GPUs, CUDA_VISIBLE_DEVICES.
"""

# the agent, from the engine that starts it
URL = "HEADWAY_URL"  # where the service listens; the agent looks again in URL_FILE
URL_FILE = "HEADWAY_URL_FILE"  # rewritten by a service that restarts on another port
TOKEN_FILE = "HEADWAY_TOKEN_FILE"
JOB_FILE = "HEADWAY_JOB_FILE"  # the JobSpec as JSON; every process of the job carries this
GPU_TYPE = "HEADWAY_GPU_TYPE"  # of the node; workers have it too, and report their speed on it

# the agent, from the owner of the job
WARM = "HEADWAY_WARM"  # 0: do not import torch before the workers are forked
SWITCH = "HEADWAY_SWITCH"  # 0: resize by checkpoint and restart, never inside living workers
THROUGHPUT = "HEADWAY_THROUGHPUT"  # linear (default), collective or best: what is fitted

# a worker, from its agent
ORDERS = "HEADWAY_ORDERS"  # path of a file with WorkerOrders; absent: not under a scheduler
NEWS_FD = "HEADWAY_NEWS_FD"  # where a worker writes WorkerNews, one JSON object a line
FLAG = "HEADWAY_FLAG"  # path of 8 bytes, little-endian int64: the wanted generation
TRIAL = "HEADWAY_TRIAL"  # so many samples a pass are tried in place of a training
RENDEZVOUS = "HEADWAY_RENDEZVOUS"  # init_method for torch.distributed, one file a generation
PLAN = "HEADWAY_PLAN"  # path of a file with a SwitchPlan, once there is one
JOINS = "HEADWAY_JOINS"  # 1: a newcomer to workers that are training; it must not wait for them yet

YIELDED = 75  # exit code of a worker that saved its state and can go on later (EX_TEMPFAIL)

# files in the directory of a job
RESULT_FILE = "result.json"  # written by the agent when the job has ended
AGENT_FILE = "agent.json"  # process identifier and start time of the agent
LOG_FILE = "log.txt"  # what the workers print
CHECKPOINTS = "checkpoints"
