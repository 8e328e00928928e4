// Runs the server until a stop signal, then drains.
import v8 from 'node:v8'
import pino from 'pino'
import { openLatchkey } from '../compose.ts'
import type { Config } from '../config.ts'
import { LogLines } from '../process/log-lines.ts'
import { startServer } from '../serve/serving.ts'
import { isWorker, supervise, WorkerLink } from '../serve/workers.ts'
import { OperatorError } from '../tokens/model/errors.ts'
import { keepDemo, makeDemo } from './store/demo.ts'
import type { Output } from './terminal/output.ts'

export async function serve(config: Config, withDemo: boolean, output: Output): Promise<void> {
  if (config.workers === 1) return serveHere(config, withDemo, output)
  // A worker that cannot start must not be kept alive by its channel. Disconnecting instead would exit with code 0.
  if (isWorker) return serveHere(config, withDemo, output).finally(() => process.channel?.unref())
  const log = pino({ level: config.logLevel }, output)
  // The store is created and migrated, and the demo account made, before the workers start.
  const latchkey = await openLatchkey(config, { log })
  let demoKey: string | undefined
  try {
    // Saved before anything else, which may fail: the key cannot be shown again.
    const keep = (key: string) => keepDemo(key, `http://${config.host}:${config.port}`, config.dataDir)
    if (withDemo) demoKey = await makeDemo(latchkey, keep)
  } finally {
    await latchkey.store.close()
  }
  await supervise(config.workers, (url) => {
    announceReady(url, config.workers, output)
    if (withDemo) announceDemo(keepDemo(demoKey, url, config.dataDir), output)
  })
}

async function serveHere(config: Config, withDemo: boolean, output: Output): Promise<void> {
  const lines = new LogLines(isWorker)
  const log = pino({ level: config.logLevel }, lines)
  const link = isWorker ? new WorkerLink() : undefined
  const running = await startServer(config, link === undefined ? { log } : { log, limiter: link })
  const stopped = stopSignal()
  keepHeapSmall()
  if (link !== undefined) link.ready(running.metrics, running.url)
  else {
    announceReady(running.url, 1, output)
    try {
      const keep = (key: string) => keepDemo(key, running.url, config.dataDir)
      const demoKey = withDemo ? await makeDemo(running, keep) : undefined
      if (withDemo) announceDemo(keepDemo(demoKey, running.url, config.dataDir), output)
    } catch (error) {
      await running.stop()
      throw error
    }
  }

  const reason = await Promise.race([stopped, running.storeLost])
  if (reason instanceof Error)
    log.fatal({ err: reason }, 'a worker thread of the store has ended, and cannot be restarted')
  log.info(reason instanceof Error ? {} : { signal: reason }, 'draining')
  await running.stop()
  log.info('stopped')
  await lines.end()
  // A non-zero exit code: the supervisor starts another process, which opens the store again.
  if (reason instanceof Error) throw new OperatorError(`A thread of the store cannot be started: ${reason.message}`)
}

/**
 * Plain text on a terminal, otherwise a log line, whatever LOG_LEVEL is: scripts wait for it. The address is surrounded by
 * spaces, so that scripts need not parse JSON.
 */
function announceReady(url: string, workers: number, output: Output): void {
  const text = `Latchkey is ready at ${url} (${workers} worker${workers === 1 ? '' : 's'})`
  if (output.isTerminal) output.line(text)
  else pino({ level: 'info' }, output).info(text)
}

/** Not to the log: the lines contain an account key. */
function announceDemo(lines: readonly string[], output: Output): void {
  for (const line of lines) {
    if (output.isTerminal) output.line(line)
    else output.stderr(line)
  }
}

/**
 * V8 lets its heap grow to several times the size of the live objects, which are mostly long-lived caches here, so that
 * collecting earlier costs little. The young generation keeps its default size: a smaller one would promote the objects of
 * requests in progress.
 */
function keepHeapSmall(): void {
  v8.setFlagsFromString('--heap-growing-percent=20')
}

/** A second signal ends the process at once. Not in a worker, which may get one from outside and one from the primary. */
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
