/**
 * From the log and the end of a phase that failed to a reason that people can act on. Pure: the same log always gets the
 * same answer. Each rule knows one kind of failure and the words of the tools that report it.
 */
import type { Reason } from '../../contract/index.ts'
import { commandNotFound, lintError, moduleNotFound, typeError } from './code.ts'
import { fontUnreachable } from './fonts.ts'
import {
  checksumMismatch,
  dependencyConflict,
  dependencyNotFound,
  installScriptFailed,
  lockfileMismatch,
  registryRefused,
} from './install.ts'
import { clean, tellsAnError, withoutWarnings } from './lines.ts'
import { diskFull, outOfMemory } from './machine.ts'
import { nativePackageMissing } from './native.ts'
import { registryUnreachable, serviceUnreachable } from './network.ts'
import { nodeVersionWrong } from './node-version.ts'
import type { Evidence, Finding, PhaseFailure, Rule } from './rule.ts'
import { syntaxError } from './syntax.ts'
import { timedOut } from './timeout.ts'
import { unknown } from './unknown.ts'

export type { FailedPhase, PhaseFailure } from './rule.ts'

export type Diagnosis = {
  reason: Reason
  /** One or two sentences: what happened, with names, and what to do. */
  message: string
  /** The number of the line that proves it; 0 for none. */
  logLine: number
  metadata: Record<string, string>
}

/** Their words are only used for what ends a program: the first rule that knows them is right, wherever they stand. */
const SURE: readonly Rule[] = [
  outOfMemory,
  diskFull,
  nativePackageMissing,
  lockfileMismatch,
  checksumMismatch,
  nodeVersionWrong,
  { ...commandNotFound, phases: ['INSTALLING'] },
  installScriptFailed,
  dependencyNotFound,
  dependencyConflict,
  registryRefused,
  registryUnreachable,
]

/**
 * Their words are used, too, for what a program survives. What it did not survive stands last in its log; where two rules
 * know the same line, the first is the more exact.
 */
const LIKELY: readonly Rule[] = [
  commandNotFound,
  fontUnreachable,
  moduleNotFound,
  syntaxError,
  typeError,
  lintError,
  serviceUnreachable,
]

export function diagnose(failure: PhaseFailure): Diagnosis {
  const evidence: Evidence = { ...failure, lines: clean(failure.lines) }
  const found = find(evidence)
  const { phase, exit } = failure
  return {
    reason: found.reason,
    message: found.message,
    logLine: evidence.lines[found.at]?.number ?? 0,
    metadata: { phase, exitCode: String(exit.code ?? exit.signal), ...found.metadata },
  }
}

function find(evidence: Evidence): Finding {
  if (evidence.deadlineSeconds !== undefined) return timedOut(evidence, evidence.deadlineSeconds)
  const serious: Evidence = { ...evidence, lines: withoutWarnings(evidence.lines) }
  const found = byRules(serious)
  if (found) return found
  // Better the program's own last words than a warning that it survived.
  return tellsAnError(serious.lines) ? unknown(serious) : (byRules(evidence) ?? unknown(evidence))
}

function byRules(evidence: Evidence): Finding | undefined {
  for (const rule of SURE) {
    const found = apply(rule, evidence)
    if (found) return found
  }
  const likely = LIKELY.flatMap((rule) => apply(rule, evidence) ?? [])
  // The sort is stable: of those that end on the same line the first of the list stays first.
  return likely.toSorted((a, b) => b.lastAt - a.lastAt)[0]
}

const apply = (rule: Rule, evidence: Evidence): Finding | undefined =>
  rule.phases.includes(evidence.phase) ? rule.find(evidence) : undefined
