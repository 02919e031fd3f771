PackBench.run()
