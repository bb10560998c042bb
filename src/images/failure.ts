/** Errors of a registry as the problem that users see. */
import { Problem } from '../contract/index.ts'
import { LayerBroken } from './layers/entry.ts'
import { DigestMismatch, RegistryRefused, RegistryUnreachable } from './registry/problem.ts'

const OURS = [RegistryRefused, RegistryUnreachable, DigestMismatch, LayerBroken]

/** Any other error is a fault of the service, and stays what it is. */
export function toProblem(what: string): (error: unknown) => never {
  return (error) => {
    if (!OURS.some((kind) => error instanceof kind)) throw error
    throw new Problem('IMAGE_REGISTRY_FAILED', `${what}: ${(error as Error).message}`, { cause: error })
  }
}
