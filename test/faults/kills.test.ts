import { describeKills } from './kills.ts'

describeKills({ kills: 5, answers: [0, 100] }, { kills: 1, answers: [50, 60] })
