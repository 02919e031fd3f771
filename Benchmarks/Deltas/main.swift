DeltaBench.run()
