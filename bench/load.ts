// The near end of a load process.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Job, Load } from './client.ts'
import type { Script } from './script.ts'

export class LoadProcess {
  readonly #child: ChildProcess = fork(join(import.meta.dirname, 'client.ts'), { serialization: 'advanced' })

  async teach(name: string, script: Script): Promise<void> {
    await this.#exchange({ name, script })
  }

  /** Every answer must be the right one, unless some `mayFail`: they are counted then. */
  async run(job: Job, mayFail = false): Promise<Load> {
    const { load, problem } = await this.#exchange({ job })
    if (load === undefined) throw new Error(`load "${job.script}": ${problem}`)
    if (load.wrong > 0 && !mayFail)
      throw new Error(`load "${job.script}": ${load.wrong} wrong answers, first ${load.firstWrong}`)
    if (load.requests === 0) throw new Error(`load "${job.script}": nothing was answered`)
    return load
  }

  stop(): void {
    if (this.#child.connected) this.#child.disconnect()
  }

  async #exchange(message: object): Promise<{ load?: Load; problem?: string }> {
    const ended = new AbortController()
    const answered = once(this.#child, 'message', { signal: ended.signal })
    const end = () => ended.abort(new Error('the load process ended'))
    this.#child.once('exit', end)
    this.#child.send(message)
    const [answer] = (await answered) as [{ load?: Load; problem?: string }]
    this.#child.off('exit', end)
    return answer
  }
}
