# Runs a project, reads its spikes and draws them; the same through neo.
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import neuropil

run = neuropil.run("balanced.ron", {"network.n_neurons": 200}, duration="200ms", device="cpu", out="raster")
plt.plot(run.spikes.times, run.spikes.lanes, ",k")
plt.xlabel(f"time ({run.time_unit})")
plt.ylabel("neuron")
plt.savefig("raster.png")
trains = run.to_neo().segments[0].spiketrains
assert sum(map(len, trains)) == len(run.spikes.times) > 0
print(
    f"{len(run.spikes.times)} spikes of {len(trains)} neurons, {run.parameters()['lif.tau_m']} membrane time constant"
)
