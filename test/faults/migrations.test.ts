import { describeMigrations } from './migrations.ts'

describeMigrations([1, 20], [3, 6])
