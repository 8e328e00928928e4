import { describeRestarts } from './restarts.ts'

describeRestarts({ balancer: 'a balancer of the test', drainSeconds: 3, restarts: 1, requests: 500, kills: 1 })
