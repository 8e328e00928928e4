// The filters of the token list as options, for every command that takes some tokens.
import { type Command, Option } from 'commander'
import { EFFECTIVE_STATUSES } from '../../tokens/verify/verdict.ts'

/** Those of the API's list. The domain checks the values. */
export function addTokenFilters(command: Command): Command {
  const choice = (flags: string, description: string, values: readonly string[]) =>
    new Option(flags, description).choices([...values]).argParser(String)
  return command
    .option('--sub-account <id>', 'only of this sub-account')
    .addOption(choice('--status <status>', 'only active or inactive ones', ['active', 'inactive']))
    .addOption(choice('--effective-status <status>', 'only those of which verification says this', EFFECTIVE_STATUSES))
    .option('--search <text>', 'part of its name')
    .option('--credential-end <characters>', 'only with a credential that ends with these four characters')
    .option('--tag <tag...>', 'only with all of these tags')
    .addOption(choice('--used <when>', 'only those never used', ['never']))
    .option('--idle-days <days>', 'only those made at least so many days ago, and not used since')
    .option('--suspended-days <days>', 'only of sub-accounts that have been suspended for so many days')
    .option('--created-from <time>', 'only made at this time or later, such as 2030-01-31T12:00:00Z')
    .option('--created-before <time>', 'only made before this time')
    .option('--expires-from <time>', 'only those that expire at this time or later')
    .option('--expires-before <time>', 'only those that expire before this time')
}
