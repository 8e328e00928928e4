// Runs the server until it is told to stop, then drains.
import v8 from 'node:v8'
import pino from 'pino'
import { openLatchkey } from '../compose.ts'
import type { Config } from '../config.ts'
import { startServer } from '../serving.ts'
import { OperatorError } from '../tokens/errors.ts'
import { isWorker, SharedLimiter, supervise, WorkerLink } from '../workers.ts'
import { keepDemo, makeDemo } from './demo.ts'
import { LogLines } from './log-lines.ts'
import type { Output } from './output.ts'

export async function serve(config: Config, withDemo: boolean, output: Output): Promise<void> {
  if (config.workers === 1) return serveHere(config, withDemo, output)
  // Its channel would keep it alive even where it could not begin; to disconnect would end it with a code of success.
  if (isWorker) return serveHere(config, withDemo, output).finally(() => process.channel?.unref())
  // The store is made before the workers open it, and its first account before anybody asks for it.
  const latchkey = await openLatchkey(config)
  let demoKey: Awaited<ReturnType<typeof makeDemo>>
  try {
    if (withDemo) demoKey = await makeDemo(latchkey)
  } finally {
    await latchkey.store.close()
  }
  // Kept before there is an address: the key is told only once, and the workers may not get as far as being ready.
  if (demoKey !== undefined) keepDemo(demoKey, `http://${config.host}:${config.port}`, config.dataDir)
  await supervise(config.workers, (url) => {
    output.line(`Latchkey is ready at ${url} (${config.workers} workers)`)
    if (withDemo) for (const line of keepDemo(demoKey, url, config.dataDir)) output.line(line)
  })
}

async function serveHere(config: Config, withDemo: boolean, output: Output): Promise<void> {
  const lines = new LogLines(isWorker)
  const log = pino({ level: config.logLevel }, lines)
  const running = await startServer(config, isWorker ? { log, limiter: new SharedLimiter() } : { log })
  const stopped = stopSignal()
  keepHeapSmall()
  if (isWorker) linkToOthers(running)
  else {
    output.line(`Latchkey is ready at ${running.url}`)
    try {
      const demoKey = withDemo ? await makeDemo(running) : undefined
      if (withDemo) for (const line of keepDemo(demoKey, running.url, config.dataDir)) output.line(line)
    } catch (error) {
      await running.stop()
      throw error
    }
  }

  const reason = await Promise.race([stopped, running.storeLost])
  if (reason instanceof Error)
    log.fatal({ err: reason }, 'a thread of the store has ended, and no other can be started')
  log.info(reason instanceof Error ? {} : { signal: reason }, 'draining')
  await running.stop()
  log.info('stopped')
  await lines.end()
  // Whatever watches over this process starts another one, which opens the store from the beginning.
  if (reason instanceof Error) throw new OperatorError(`A thread of the store cannot be started: ${reason.message}`)
}

/**
 * V8 lets its heap grow to several times of what lives in it. What lives here is mostly remembered for long, so collecting
 * sooner costs little. The young generation is left to V8: where it has no room for the requests under way, what belongs to
 * them is taken for what stays.
 */
function keepHeapSmall(): void {
  v8.setFlagsFromString('--heap-growing-percent=30')
}

function linkToOthers({ metrics, url }: Awaited<ReturnType<typeof startServer>>): void {
  const link = new WorkerLink(() => metrics.snapshot())
  metrics.scrapeWith(() => link.scrape())
  link.ready(url)
}

/** A second signal ends the process at once; but a worker may get one from outside and another from the first process. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    const signals = ['SIGTERM', 'SIGINT'] as const
    const stop = (signal: string) => {
      if (!isWorker) for (const each of signals) process.off(each, stop)
      resolve(signal)
    }
    for (const signal of signals) process.on(signal, stop)
  })
}
