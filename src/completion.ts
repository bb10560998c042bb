/**
 * Completion scripts for shells, made from the table of commands, so that they cannot go stale. For names of accounts, apps and
 * environments, and ids of builds and deployments, a script runs the `headland` on the PATH, which asks the service. Its output is
 * data to the shell, and never run. A `headland` that was typed by its path is not run, since it may be a foreign program.
 */
import type { NameKind } from './cli/index.ts'
import { type CommandForm, type OptionForm, UsageError } from './contract/index.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

/** How each script is installed, for the help and the head of the script. */
export const INSTALLING: Record<Shell, string> = {
  bash: 'add to ~/.bashrc: source <(headland completion bash)',
  zsh: 'add to ~/.zshrc, after compinit: source <(headland completion zsh)',
  fish: 'headland completion fish > ~/.config/fish/completions/headland.fish',
}

/** Names that the service knows are completed for client commands; operators' commands do not call a service. */
export type CompletedForm = CommandForm & { who?: 'operator' | 'client' }

export function completion(shell: string, commands: readonly CompletedForm[]): string {
  const write = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell as Shell] : undefined
  if (!write) throw new UsageError(`SHELL is one of ${SHELLS.join(', ')}`)
  return `# Completion of headland for ${shell}. To use it, ${INSTALLING[shell as Shell]}\n${write(commands)}`
}

const SCRIPTS: Record<Shell, (commands: readonly CompletedForm[]) => string> = { bash, zsh, fish }

/** What a word can be: one of a few, a file, a folder, something that the service knows, or anything. */
type Kind = readonly string[] | 'file' | 'folder' | 'anything' | { names: NameKind }

const NAMED: Record<string, NameKind> = {
  ACCOUNT: 'accounts',
  APP: 'apps',
  ENV: 'environments',
  BUILD: 'builds',
  DEPLOYMENT: 'deployments',
}

function kindOf(name: string, { who }: CompletedForm): Kind {
  if (name === 'SHELL') return SHELLS
  if (name === 'FILE') return 'file'
  if (name === 'DIR') return 'folder'
  const names = who === 'operator' ? undefined : NAMED[name]
  return names ? { names } : 'anything'
}

const kindOfValue = (command: CompletedForm, name: string, { oneOf, value }: OptionForm): Kind =>
  oneOf ?? kindOf(value ?? name.toUpperCase(), command)
const kindOfPositional = (command: CompletedForm, name = ''): Kind => kindOf(name.replaceAll(/[[\]…]/g, ''), command)
const isNames = (kind: Kind): kind is { names: NameKind } => typeof kind === 'object' && 'names' in kind

type Flag = { flag: string; name: string; form: OptionForm }

const HELP: OptionForm = { type: 'boolean', short: 'h', describe: 'Show this help.' }

const flagsOf = ({ options }: CompletedForm): Flag[] =>
  Object.entries({ ...options, help: HELP }).map(([name, form]) => ({ flag: `--${name}`, name, form }))

/** The first words of all commands, each with the second words that may follow it. */
function families(commands: readonly CompletedForm[]) {
  const found = new Map<string, { summary: string; seconds: { word: string; summary: string }[] }>()
  for (const { name, summary } of commands) {
    const [first = '', word] = name.split(' ')
    const family = found.get(first) ?? { summary: '', seconds: [] }
    if (word === undefined) family.summary = summary
    else family.seconds.push({ word, summary })
    found.set(first, family)
  }
  return [...found].map(([first, { summary, seconds }]) => ({
    first,
    seconds,
    summary: summary || seconds.map(({ word }) => word).join(', '),
  }))
}

/** A text as one word of a shell: in single quotes every character is literal. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const words = (list: readonly string[]): string => quoted(list.join(' '))

function bash(commands: readonly CompletedForm[]): string {
  const complete = (kind: Kind): string => {
    if (kind === 'anything') return ':'
    if (kind === 'file') return '_headland_paths -f'
    if (isNames(kind)) return `_headland_names ${kind.names}`
    return kind === 'folder' ? '_headland_paths -d' : `_headland_words ${words(kind)}`
  }
  const branches = commands.map((command) => {
    const flags = flagsOf(command)
    const values = flags.filter(({ form }) => form.type === 'string')
    const positional = complete(kindOfPositional(command, command.positionals[0]))
    return [
      `    ${quoted(command.name)})`,
      '      case $before in',
      ...values.map(
        ({ flag, name, form }) => `        ${flag}) ${complete(kindOfValue(command, name, form))}; return ;;`,
      ),
      '      esac',
      `      case $now in -*) _headland_words ${words(flags.map(({ flag }) => flag))} ;; *) ${positional} ;; esac ;;`,
    ].join('\n')
  })
  const seconds = families(commands)
    .filter((family) => family.seconds.length > 0)
    .map(({ first, seconds }) => `        ${first}) _headland_words ${words(seconds.map(({ word }) => word))} ;;`)
  const two = commands.filter(({ name }) => name.includes(' ')).map(({ name }) => quoted(name))
  return `_headland_words() {
  local IFS=$' \\t\\n'
  COMPREPLY=($(compgen -W "$1" -- "$now"))
}
_headland_paths() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen "$1" -- "$now"))
}
# Each name is inserted as one word, whatever its characters. A name that cannot be written inside the open quote is left
# out. Where there are several names, each is shown with its description, which is never inserted.
_headland_names() {
  local line name about typed=$now
  local -a shown=()
  case $typed in [\\'\\"]*) typed=\${typed:1} ;; *) typed=\${typed//\\\\/} ;; esac
  while IFS= read -r line; do
    name=\${line%%$'\\t'*} about=\${line#"\${line%%$'\\t'*}"}
    [[ $name == "$typed"* ]] || continue
    case $now in
      \\'*) [[ $name == *\\'* ]] || COMPREPLY+=("$name") ;;
      \\"*) [[ $name == *[\\"\\$\\\`\\\\!]* ]] || COMPREPLY+=("$name") ;;
      *) COMPREPLY+=("$(printf %q "$name")"); shown+=("$(printf %q "$name")\${about:+  (\${about:1})}") ;;
    esac
  done < <(command headland completion bash --names "$1" -- "$COMP_LINE" 2>/dev/null)
  # COMP_TYPE 37 and 42 (menu-complete, insert-completions) insert the words themselves.
  ((\${#shown[@]} > 1 && COMP_TYPE != 37 && COMP_TYPE != 42)) || return
  compopt -o nosort 2>/dev/null
  COMPREPLY=("\${shown[@]}")
}
_headland() {
  local now=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]}
  COMPREPLY=()
  # --option=value is three words here.
  if [[ $now == = ]]; then now=; elif [[ $before == = ]]; then before=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  if ((COMP_CWORD == 1)); then
    _headland_words ${words([...families(commands).map(({ first }) => first), '--help', '--version'])}
    return
  fi
  if ((COMP_CWORD == 2)) && [[ $now != -* ]]; then
      case $command in
${seconds.join('\n')}
      esac
      ((\${#COMPREPLY[@]} > 0)) && return
  fi
  case "$command \${COMP_WORDS[2]}" in
    ${two.join(' | ')}) ((COMP_CWORD > 2)) && command="$command \${COMP_WORDS[2]}" ;;
  esac
  case $command in
${branches.join('\n')}
  esac
}
complete -F _headland headland`
}

function zsh(commands: readonly CompletedForm[]): string {
  /** Colons separate and brackets enclose; a backslash makes both literal. */
  const escaped = (text: string): string => text.replaceAll(/[\\[\]:]/g, '\\$&')
  const action = (kind: Kind): string => {
    if (kind === 'anything') return ' '
    if (kind === 'file') return '_files'
    if (isNames(kind)) return `_headland_names ${kind.names}`
    return kind === 'folder' ? '_files -/' : `(${kind.join(' ')})`
  }
  const described = (list: readonly { word: string; summary: string }[]): string =>
    list.map(({ word, summary }) => quoted(`${word.replaceAll(':', '\\:')}:${summary}`)).join(' ')
  const branches = commands.map((command) => {
    const options = flagsOf(command).map(({ flag, name, form }) => {
      const value =
        form.type === 'string' ? `:${escaped(form.value ?? name)}:${action(kindOfValue(command, name, form))}` : ''
      return quoted(`${form.multiple ? '*' : ''}${flag}[${escaped(form.describe)}]${value}`)
    })
    const positionals = command.positionals.map((name) => {
      const plain = name.replaceAll(/[[\]…]/g, '')
      const spot = name.includes('…') ? '*:' : name.startsWith('[') ? '::' : ':'
      return quoted(`${spot}${escaped(plain)}:${action(kindOfPositional(command, name))}`)
    })
    return `    ${quoted(command.name)}) _arguments -S ${[...options, ...positionals].join(' \\\n      ')} ;;`
  })
  const firsts = families(commands)
  const seconds = firsts
    .filter((family) => family.seconds.length > 0)
    .map(({ first, seconds }) => `      ${first}) seconds=(${described(seconds)}) ;;`)
  const two = commands.filter(({ name }) => name.includes(' ')).map(({ name }) => quoted(name))
  return `_headland_names() {
  local -a lines found shown form
  lines=("\${(@f)$(command headland completion zsh --names $@[-1] -- "\${(@Q)words}" 2>/dev/null)}")
  found=("\${(@)lines%%$'\\t'*}")
  shown=("\${(@)lines/$'\\t'/  -- }")
  # Names with a description get a line each, in the order of the service: newest first.
  [[ $lines == *$'\\t'* ]] && form=(-l -V ids)
  # Options that _arguments passes to compadd come before the kind.
  compadd "\${(@)argv[1,-2]}" $form -d shown -a found
}
_headland() {
  local command=$words[2] used=1
  local -a firsts seconds
  firsts=(${described(firsts.map(({ first, summary }) => ({ word: first, summary })))})
  if ((CURRENT == 2)); then
    _describe 'command' firsts
    return
  fi
  if ((CURRENT == 3)) && [[ $words[3] != -* ]]; then
    case $command in
${seconds.join('\n')}
    esac
    ((\${#seconds})) && _describe 'command' seconds && return
  fi
  case "$command $words[3]" in
    ${two.join(' | ')}) ((CURRENT > 3)) && { command="$command $words[3]"; used=2; } ;;
  esac
  shift $used words
  ((CURRENT -= used))
  case $command in
${branches.join('\n')}
  esac
}
compdef _headland headland`
}

function fish(commands: readonly CompletedForm[]): string {
  /** In single quotes, fish reads a backslash before a quote or another backslash as an escape. */
  const plain = (text: string): string => `'${text.replaceAll(/[\\']/g, '\\$&')}'`
  const firsts = families(commands)
  const at = (condition: string, more: string): string => `complete -c headland -n ${plain(condition)} ${more}`
  const word = (text: string, summary: string): string => `-a ${plain(text)} -d ${plain(summary)}`
  const given = (kind: Kind): string => {
    if (kind === 'anything') return '-x'
    if (kind === 'file') return '-r -F'
    if (isNames(kind)) return `-x -a ${plain(`(__headland_names ${kind.names})`)}`
    return kind === 'folder' ? "-x -a '(__fish_complete_directories)'" : `-x -a ${plain(kind.join(' '))}`
  }
  const ofCommand = commands.flatMap((command) => {
    const condition = `__headland_is ${plain(command.name)}`
    const kind = kindOfPositional(command, command.positionals[0])
    const flags = flagsOf(command).map(({ name, form }) => {
      const short = form.short ? `-s ${form.short} ` : ''
      const value = form.type === 'string' ? ` ${given(kindOfValue(command, name, form))}` : ''
      return at(condition, `${short}-l ${name} -d ${plain(form.describe)}${value}`)
    })
    if (kind === 'anything') return flags
    return [...flags, at(condition, kind === 'file' ? '-F' : given(kind).replace('-x ', ''))]
  })
  return [
    'function __headland_is',
    "    set -l typed (commandline -opc) '' ''",
    '    set -l command $typed[2]',
    `    contains -- "$typed[2] $typed[3]" ${commands
      .filter(({ name }) => name.includes(' '))
      .map(({ name }) => plain(name))
      .join(' ')}`,
    '    and set command "$typed[2] $typed[3]"',
    '    test "$command" = $argv[1]',
    'end',
    'function __headland_names',
    '    set -l typed (commandline -opc)',
    '    command headland completion fish --names $argv[1] -- $typed 2>/dev/null',
    'end',
    'function __headland_follows',
    '    set -l typed (commandline -opc)',
    '    test (count $typed) -eq (count headland $argv); and test "$typed[2..]" = "$argv"',
    'end',
    'complete -c headland -f',
    ...firsts.map(({ first, summary }) => at('__headland_follows', word(first, summary))),
    at('__headland_follows', "-l help -d 'List the commands.'"),
    at('__headland_follows', "-l version -d 'Print the version.'"),
    ...firsts.flatMap(({ first, seconds }) =>
      seconds.map((second) => at(`__headland_follows ${first}`, word(second.word, second.summary))),
    ),
    ...ofCommand,
  ].join('\n')
}
