// A copy that is killed, as by a power cut, at the step that its last argument names. Run as a process of its own.
import { openCopy } from '../../src/compose.ts'
import { readProcessConfig } from '../../src/config.ts'
import { type CopyTarget, copyStore } from '../../src/tokens/upkeep/copy.ts'

const [to = '', fatal = ''] = process.argv.slice(2)
const { source, target, close } = await openCopy(readProcessConfig(), to)
let steps = 0
const die = () => process.kill(process.pid, 'SIGKILL')

/** Dies once the fatal step is under way, but not yet answered; at the end, just before it. */
const dying = new Proxy(target, {
  get(object, name: keyof CopyTarget) {
    return (...args: unknown[]) => {
      if (name === 'finish' && fatal === 'finish') die()
      const answer = Reflect.apply(object[name], object, args)
      if ((name === 'restart' || name === 'writeRows') && String(++steps) === fatal) die()
      return answer
    }
  },
})
await copyStore(source, dying, () => () => {})
await close()
