// cluster.fork() names a script as the first argument. The executable takes none: its script is inside.
import cluster from 'node:cluster'

if (cluster.isWorker) process.argv.splice(2, 1)
