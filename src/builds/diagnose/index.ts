/**
 * Finds the reason of a failed phase from its log and its exit. Pure: the same log always has the same result. Each rule knows
 * one kind of failure and the messages of the tools that report it.
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
import { clean, hasErrorLine, withoutWarnings } from './lines.ts'
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

/** Rules whose messages only occur in fatal errors: the first rule that matches is right, wherever the message is. */
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
 * Rules whose messages also occur in errors that a program survives. The fatal error is the last one in the log; where two
 * rules match the same line, the first is more precise.
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
  // The last error of the program is better than a warning that it survived.
  return hasErrorLine(serious.lines) ? unknown(serious) : (byRules(evidence) ?? unknown(evidence))
}

function byRules(evidence: Evidence): Finding | undefined {
  for (const rule of SURE) {
    const found = apply(rule, evidence)
    if (found) return found
  }
  const likely = LIKELY.flatMap((rule) => apply(rule, evidence) ?? [])
  // The sort is stable: of findings on the same line, that of the first rule stays first.
  return likely.toSorted((a, b) => b.lastAt - a.lastAt)[0]
}

const apply = (rule: Rule, evidence: Evidence): Finding | undefined =>
  rule.phases.includes(evidence.phase) ? rule.find(evidence) : undefined
