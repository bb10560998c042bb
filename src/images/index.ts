export { createRegistryClient, MANIFEST_TYPE, type RegistryClient } from './registry/client.ts'
export { DigestMismatch, RegistryRefused, RegistryUnreachable } from './registry/problem.ts'
