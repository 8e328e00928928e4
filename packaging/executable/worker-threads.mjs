// node:worker_threads, whose threads run the script inside the executable: a thread cannot load a file from there.
import sea from 'node:sea'
import { Worker as NodeWorker } from 'node:worker_threads'

export * from 'node:worker_threads'

export class Worker extends NodeWorker {
  constructor(_script, options) {
    super(sea.getAsset('thread.cjs', 'utf8'), { ...options, eval: true })
  }
}
