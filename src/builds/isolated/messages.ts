/** The messages between the service and an isolated process. */
import type { ProblemDetails, Reason } from '../../contract/index.ts'
import type { Diagnosis, PhaseFailure } from '../diagnose/index.ts'
import type { Platform } from '../diagnose/native-packages.ts'
import type { Plan } from '../plan/plan.ts'
import type { Lockfile } from './lockfile.ts'

export type Tasks = {
  /** Calls `files` for the names of a source, in batches, and `read` and `head`. */
  plan: { input: { rootDirectory: string }; result: Plan }
  diagnose: { input: PhaseFailure; result: Diagnosis }
  /** Reads the file whose descriptor it was given. */
  lockfile: { input: { platform: Platform }; result: Lockfile }
}

export type TaskMessage = { task: keyof Tasks; input: unknown }

export type ToIsolated = TaskMessage | { answer: unknown }

export type FromIsolated =
  | { done: unknown }
  | { problem: Pick<ProblemDetails, 'metadata'> & { reason: Reason; message: string } }
  | { fault: string }
  | { ask: string; values: unknown[] }
