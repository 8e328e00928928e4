// A rotation of the master key that is killed, as by a power cut. Run as a process of its own; its arguments say at which
// step, and whether the step is still under way then or already answered. Ends by itself where there is no such step.
import { openLatchkey } from '../../src/compose.ts'
import { readProcessConfig } from '../../src/config.ts'
import { findKeeper } from '../../src/master-key.ts'
import { rotateMasterKey } from '../../src/tokens/upkeep/master-key-rotation.ts'

const STEPS = ['make', 'changeMasterKey', 'resealTokens', 'retireMasterKey', 'retire']
const [fatal = '', moment = ''] = process.argv.slice(2)
const config = readProcessConfig()
const { store, keys } = await openLatchkey(config)
let steps = 0
const die = () => process.kill(process.pid, 'SIGKILL')

function dying<Part extends object>(part: Part): Part {
  return new Proxy(part, {
    get(object, name) {
      const operation = Reflect.get(object, name) as (...args: unknown[]) => unknown
      return (...args: unknown[]) => {
        const answer = Reflect.apply(operation, object, args)
        if (!STEPS.includes(String(name)) || String(++steps) !== fatal) return answer
        if (moment === 'under way') die()
        return Promise.resolve(answer).then(die)
      }
    },
  })
}

const keeper = findKeeper(config)
const parts = { store: dying(store), keys, keeper: keeper && dying(keeper), now: Date.now }
await rotateMasterKey(parts, () => () => {})
await store.close()
