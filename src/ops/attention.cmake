set(LINGBOT_ATTENTION_SOURCES
    attention.cc cpu/attention_problem.cc cpu/attention_sdpa.cc cpu/attention_tiled.cc
    cpu/reference/attention.cc)
