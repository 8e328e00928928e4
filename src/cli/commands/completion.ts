// Completion for shells, made from the commands as they are declared: what is added there is completed without a change here.
import { Argument, type Command } from 'commander'
import { mayRunAnywhere } from '../command.ts'
import type { Streams } from '../terminal/output.ts'

interface Word {
  readonly name: string
  readonly description: string
}

interface CompletedOption extends Word {
  readonly takesValue: boolean
  /** The only values that it takes; none where it takes any. */
  readonly values: readonly string[]
}

/** What can follow after some words. */
export interface Choices {
  readonly command: Command
  /** The commands so far, each after a space: ` token list`, and nothing for `latchkey` alone. */
  readonly at: string
  readonly words: readonly Word[]
  readonly options: readonly CompletedOption[]
}

const SHELLS = { bash, zsh, fish } as const
type Shell = keyof typeof SHELLS

const HELP = `
Prints a script for the shell. To have it in every new one:

  bash:  latchkey completion bash > ~/.local/share/bash-completion/completions/latchkey
  zsh:   latchkey completion zsh > "\${fpath[1]}/_latchkey"
  fish:  latchkey completion fish > ~/.config/fish/completions/latchkey.fish`

export function addCompletionCommand(program: Command, streams: Streams): void {
  const command = program
    .command('completion')
    .description('print a script with which a shell completes commands and options')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(SHELLS)))
    .addHelpText('after', HELP)
  mayRunAnywhere(command).action((shell: Shell) => {
    streams.stdout.write(SHELLS[shell](choicesIn(program)))
  })
}

export function choicesIn(command: Command, at = ''): readonly Choices[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const argumentValues = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)
  const choices: Choices = {
    command,
    at,
    words: [
      ...commands.map((each) => ({ name: each.name(), description: each.description() })),
      ...argumentValues.map((name) => ({ name, description: '' })),
    ],
    options: [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].map((option) => ({
      name: option.long ?? option.flags,
      description: option.description,
      takesValue: option.required || option.optional,
      values: option.argChoices ?? [],
    })),
  }
  return [choices, ...command.commands.flatMap((each) => choicesIn(each, `${at} ${each.name()}`))]
}

const namesOf = (words: readonly Word[]) => words.map(({ name }) => name).join(' ')
/** For bash and zsh, whose patterns are quoted in the same way as texts. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
const either = (texts: readonly string[]) => texts.map(quoted).join('|')

/** The words after which the completion goes on below a command. */
const knownPaths = (all: readonly Choices[]) => all.map(({ at }) => at).filter((at) => at !== '')

/** The options that take a value, each after the words before it. */
const valueOptions = (all: readonly Choices[]) =>
  all.flatMap(({ at, options }) =>
    options.filter(({ takesValue }) => takesValue).map(({ name, values }) => ({ path: `${at} ${name}`, values })),
  )

const lines = <Item>(items: readonly Item[], lineOf: (item: Item) => string) => items.map(lineOf).join('\n')

function bash(all: readonly Choices[]): string {
  return `# Completion of latchkey for bash.
_latchkey_values() {
  case "$1" in
${lines(valueOptions(all), ({ path, values }) => `    ${quoted(path)}) words=${quoted(values.join(' '))} ;;`)}
    *) return 1 ;;
  esac
}
_latchkey_words() {
  case "$1" in
${lines(all, ({ at, words, options }) => `    ${quoted(at)}) words=${quoted(namesOf([...words, ...options]))} ;;`)}
  esac
}
_latchkey() {
  local at='' before='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if _latchkey_values "$at $before"; then before=''; continue; fi
    case "$at $word" in ${either(knownPaths(all))}) at="$at $word" ;; esac
    before=$word
  done
  _latchkey_values "$at $before" || _latchkey_words "$at"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _latchkey latchkey
`
}

function zsh(all: readonly Choices[]): string {
  const described = (words: readonly Word[]) =>
    words.map(({ name, description }) => quoted(`${name}:${description.replaceAll(':', '\\:')}`)).join(' ')
  return `#compdef latchkey
_latchkey_values() {
  case "$1" in
${lines(valueOptions(all), ({ path, values }) => `    (${quoted(path)}) choices=(${values.map(quoted).join(' ')}) ;;`)}
    (*) return 1 ;;
  esac
}
_latchkey_words() {
  case "$1" in
${lines(all, ({ at, words, options }) => `    (${quoted(at)}) choices=(${described([...words, ...options])}) ;;`)}
  esac
}
_latchkey() {
  local at='' before='' word
  local -a choices
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if _latchkey_values "$at $before"; then before=''; continue; fi
    case "$at $word" in (${either(knownPaths(all))}) at="$at $word" ;; esac
    before=$word
  done
  choices=()
  _latchkey_values "$at $before" || _latchkey_words "$at"
  if (( $#choices )); then _describe latchkey choices; else _files; fi
}
if [ "$funcstack[1]" = _latchkey ]; then _latchkey "$@"; else compdef _latchkey latchkey; fi
`
}

function fish(all: readonly Choices[]): string {
  const text = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const linesOf = ({ at, words, options }: Choices) => {
    const start = `complete -c latchkey -n ${text(`__latchkey_at ${text(at)}`)}`
    return [
      ...words.map(({ name, description }) => `${start} -f -a ${text(name)} -d ${text(description)}`),
      ...options.map(({ name, description, takesValue, values }) => {
        const value = values.length > 0 ? ` -x -a ${text(values.join(' '))}` : takesValue ? ' -r' : ''
        return `${start} -l ${name.slice(2)}${value} -d ${text(description)}`
      }),
    ]
  }
  return `# Completion of latchkey for fish.
function __latchkey_at
  set -l at ''
  set -l words (commandline -opc)
  set -e words[1]
  set -l before ''
  for word in $words
    if contains -- "$at $before" ${valueOptions(all)
      .map(({ path }) => text(path))
      .join(' ')}
      set before ''
      continue
    end
    contains -- "$at $word" ${knownPaths(all).map(text).join(' ')}; and set at "$at $word"
    set before $word
  end
  test "$at" = "$argv[1]"
end
complete -c latchkey -e
${all.flatMap(linesOf).join('\n')}
`
}
