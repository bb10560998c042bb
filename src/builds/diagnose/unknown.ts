/** A failure that no rule knows: its exit, the best line of its log, and a hint where there is one. */
import type { Reason } from '../../contract/index.ts'
import { provingIndex, quote, sentence } from './lines.ts'
import { type Evidence, type Exit, type FailedPhase, type Finding, RUNNING_CODE } from './rule.ts'

const REASONS: Record<FailedPhase, Reason> = {
  INSTALLING: 'INSTALL_FAILED',
  BUILDING: 'BUILD_SCRIPT_FAILED',
  STARTING: 'START_CRASHED',
}

type Hint = { phases?: readonly FailedPhase[]; pattern: RegExp; advice(match: RegExpExecArray): string }

const HINTS: readonly Hint[] = [
  {
    pattern: /[Mm]issing (?:required )?(?:environment|env) variables?:? ['"`]?([A-Z][A-Z0-9_]{1,80})/,
    advice: ([, name]) => `Set the shell variable ${name ?? 'that it names'}.`,
  },
  {
    pattern:
      /\b([A-Z][A-Z0-9]{0,30}_[A-Z0-9_]{1,60})['"`]? (?:environment variable )?(?:is not (?:set|defined)|is required|is missing|must be (?:set|defined))/,
    advice: ([, name]) => `Set the shell variable ${name}.`,
  },
  {
    phases: ['STARTING'],
    pattern: /\bEADDRINUSE\b.{0,80}?:(\d{1,5})\b/,
    advice: ([, port]) => `Port ${port} is taken: listen on the port in \`process.env.PORT\`.`,
  },
  {
    phases: ['STARTING'],
    pattern: /\bEACCES\b.{0,40}permission denied [\d.:[\]a-f]{0,45}:(\d{1,5})\b/,
    advice: ([, port]) => `Port ${port} may not be used: listen on the port in \`process.env.PORT\`.`,
  },
  {
    phases: ['STARTING'],
    pattern: /\bEROFS\b.{0,200}?'([^']{1,300})'/,
    advice: ([, path]) => `${quote(path ?? '')} cannot be written while the app runs: write to /tmp.`,
  },
  {
    phases: ['STARTING'],
    pattern: /Could not find a production build/,
    advice: () => 'The build script must run `next build`.',
  },
  {
    phases: RUNNING_CODE,
    pattern: /\bstatus(?: code)?:? {0,2}40[13]\b|\b401 Unauthorized|\b403 Forbidden/i,
    advice: () => 'A service refused what the app asked: check the tokens and passwords in the shell variables.',
  },
  {
    pattern:
      /[Mm]issing script: "?([\w:-]{1,80})|Couldn't find a script named "([^"]{1,80})"|Script not found "([^"]{1,80})"/,
    advice: (match) => `Add the script ${match.slice(1).find(Boolean)} to package.json.`,
  },
]

export function unknown({ phase, argv, exit, lines }: Evidence): Finding {
  const at = provingIndex(lines)
  const quoted = at < 0 ? '' : quote((lines[at]?.text ?? '').replace(/^npm (?:error|ERR!) /, ''))
  const hint = hintIn(phase, lines)
  const message = [sentence(summaryOf(phase, argv, exit), quoted), ...hint].join(' ')
  return { reason: REASONS[phase], message, at, lastAt: at }
}

function summaryOf(phase: FailedPhase, argv: readonly string[], exit: Exit): string {
  if (phase !== 'STARTING') return `\`${quote(argv.join(' '))}\` ${inWords(exit)}`
  if (exit.code === 0)
    return 'The app ended by itself before it answered, as if it were done; a server must go on running'
  return `The app ${inWords(exit)} before it answered`
}

export const inWords = ({ code, signal }: Exit): string =>
  signal ? `was killed by ${signal}` : `ended with exit code ${code}`

function hintIn(phase: FailedPhase, lines: Evidence['lines']): string[] {
  for (const { phases, pattern, advice } of HINTS) {
    if (phases && !phases.includes(phase)) continue
    for (const { text } of lines.toReversed()) {
      const match = pattern.exec(text)
      if (match) return [advice(match)]
    }
  }
  return []
}
