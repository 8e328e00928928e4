// Every scenario table, for every engine.
import { authenticationScenarios } from './authentication.scenarios.ts'
import { beyondScenarios } from './beyond.scenarios.ts'
import { errorCodeScenarios } from './error-codes.scenarios.ts'
import { explainScenarios } from './explain.scenarios.ts'
import { httpScenarios } from './http.scenarios.ts'
import { idempotencyScenarios } from './idempotency.scenarios.ts'
import { introspectionScenarios } from './introspection.scenarios.ts'
import { keyScenarios } from './keys.scenarios.ts'
import { lifecycleScenarios } from './lifecycle.scenarios.ts'
import { listScenarios } from './list.scenarios.ts'
import { overviewScenarios } from './overview.scenarios.ts'
import { patchScenarios } from './patch.scenarios.ts'
import { policyScenarios } from './policy.scenarios.ts'
import { playedOnce } from './scenario.ts'
import { unknownNamesScenarios } from './unknown-names.scenarios.ts'
import { updateScenarios } from './update.scenarios.ts'
import { usageScenarios } from './usage.scenarios.ts'
import { verifyScenarios } from './verify.scenarios.ts'
import { whoamiScenarios } from './whoami.scenarios.ts'

export const allScenarios = {
  authentication: playedOnce(authenticationScenarios),
  'listing and fetching': listScenarios,
  updating: updateScenarios,
  patching: patchScenarios,
  'policies, tags and metadata': beyondScenarios,
  'what a policy allows': policyScenarios,
  'explaining a token': playedOnce(explainScenarios),
  'what HTTP itself says': httpScenarios,
  verification: verifyScenarios,
  'clients of introspection': playedOnce(introspectionScenarios),
  'the life of a token': lifecycleScenarios,
  'the life of an account key': keyScenarios,
  'requests that are repeated': idempotencyScenarios,
  'fields and parameters that are not known': unknownNamesScenarios,
  'the codes of failures': errorCodeScenarios,
  'who is asking': whoamiScenarios,
  'the overview and what it leads to': overviewScenarios,
  usage: usageScenarios,
}
