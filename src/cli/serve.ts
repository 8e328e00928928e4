// Runs the server until it is told to stop, then drains.
import pino from 'pino'
import { startServer } from '../compose.ts'
import type { Config } from '../config.ts'
import { demoLines } from './demo.ts'
import type { Output } from './output.ts'

const LOG_BUFFER_BYTES = 4_096
const LOG_FLUSH_MS = 500

export async function serve(config: Config, withDemo: boolean, output: Output): Promise<void> {
  const destination = pino.destination({ fd: 1, sync: false, minLength: LOG_BUFFER_BYTES, periodicFlush: LOG_FLUSH_MS })
  const log = pino({ level: config.logLevel }, destination)
  const running = await startServer(config, { log })
  const stopped = stopSignal()
  output.line(`Latchkey is ready at ${running.url}`)
  if (withDemo) for (const line of await demoLines(running, running.url, config.dataDir)) output.line(line)

  log.info({ signal: await stopped }, 'draining')
  await running.stop()
  log.info('stopped')
  destination.flushSync()
}

function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal))
  })
}
