ZstdBench.run()
