import { describeKills } from './kills.ts'

describeKills({ kills: 2, answers: [0, 100] }, { kills: 10, answers: [50, 60] })
