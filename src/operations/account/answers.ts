// The account at a glance, and who is asking.
import type { Input, Service } from '../operation.ts'
import { overviewToWire, whoAmIToWire } from './document.ts'

export async function getOverview({ registry }: Service, { caller }: Input) {
  return { data: overviewToWire(await registry.overview(caller)) }
}

export async function whoami({ registry }: Service, { caller }: Input) {
  return { data: whoAmIToWire(await registry.getAccount(caller), caller) }
}
