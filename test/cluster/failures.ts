// The kinds of failure that a cluster goes through: what is done to the primary or to all, and how it ends.
import { setTimeout as pause } from 'node:timers/promises'
import type { Mode, Node, PatroniCluster } from './patroni.ts'

/** Longer than Patroni's ttl. */
const ETCD_LOST_MS = 30_000

export interface Kind {
  readonly name: string
  readonly how: string
  /** Whether another node becomes the primary, which is waited for before the failure ends. */
  readonly isFailover: boolean
  /** With which changes are lost: each is tried once. */
  readonly controls: readonly Exclude<Mode, 'synchronous'>[]
  readonly begin: (primary: Node, cluster: PatroniCluster) => Promise<void>
  readonly end: (primary: Node, cluster: PatroniCluster) => Promise<void>
}

export const KINDS: readonly Kind[] = [
  {
    name: 'primary killed',
    how: 'every process of PostgreSQL and Patroni on the primary ended by SIGKILL',
    ...{ isFailover: true, controls: ['asynchronous'] },
    async begin(primary) {
      // Patroni first: it would start PostgreSQL again.
      await primary.killPatroni()
      primary.signalPostgres('SIGKILL')
    },
    async end(primary) {
      primary.startPatroni()
    },
  },
  {
    name: 'primary frozen',
    how: 'every process of PostgreSQL on the primary stopped (SIGSTOP), and resumed when another is the primary',
    ...{ isFailover: true, controls: ['asynchronous', 'etcd3'] },
    async begin(primary) {
      primary.signalPostgres('SIGSTOP')
    },
    async end(primary) {
      primary.signalPostgres('SIGCONT')
    },
  },
  {
    name: 'Patroni frozen',
    how: 'Patroni on the primary stopped (SIGSTOP) while its PostgreSQL runs on',
    ...{ isFailover: true, controls: ['asynchronous'] },
    async begin(primary) {
      primary.signalPatroni('SIGSTOP')
    },
    async end(primary) {
      primary.signalPatroni('SIGCONT')
    },
  },
  {
    name: 'primary cut off',
    how: 'no packet passes between the machine of the primary, with its etcd, and the others and HAProxy',
    ...{ isFailover: true, controls: ['asynchronous'] },
    async begin(primary) {
      primary.machine.cutOff()
    },
    async end(primary) {
      primary.machine.rejoin()
    },
  },
  {
    name: 'switch-over',
    how: '`patronictl switchover`',
    ...{ isFailover: true, controls: [] },
    async begin(primary) {
      primary.switchOver()
    },
    async end() {},
  },
  {
    name: 'etcd lost',
    how: `all three etcd ended by SIGKILL, and started again after ${ETCD_LOST_MS / 1_000} s`,
    ...{ isFailover: false, controls: [] },
    begin: loseEtcd,
    end: restartEtcd,
  },
  {
    name: 'etcd lost, without `failsafe_mode`',
    how: 'the same with `failsafe_mode: false`',
    ...{ isFailover: false, controls: [] },
    async begin(primary, cluster) {
      await primary.configure({ failsafe_mode: false })
      // Until every Patroni has read it.
      await pause(10_000)
      await loseEtcd(primary, cluster)
    },
    async end(primary, cluster) {
      await restartEtcd(primary, cluster)
      const leader = await cluster.healed()
      await leader.configure({ failsafe_mode: true })
    },
  },
]

async function loseEtcd(_: Node, { nodes }: PatroniCluster): Promise<void> {
  await Promise.all(nodes.map((node) => node.killEtcd()))
  await pause(ETCD_LOST_MS)
}

async function restartEtcd(_: Node, { nodes }: PatroniCluster): Promise<void> {
  for (const node of nodes) node.startEtcd()
}
