/** Apps of a cluster, with what most tests do not care about. */
import type { DesiredApp } from '../../../src/swarm/index.ts'

export const desiredApp = (app: Partial<DesiredApp> & Pick<DesiredApp, 'deployment'>): DesiredApp => ({
  environment: 'environment',
  account: 'account',
  image: `registry.example/app@sha256:${'0'.repeat(64)}`,
  command: ['node', 'server.mjs'],
  region: 'EU-W',
  replicas: 1,
  memoryBytes: 256 * 1024 * 1024,
  reservedMemoryBytes: 0,
  nanoCpus: 1_000_000_000,
  pids: 100,
  port: 3000,
  user: { uid: 10_001, gid: 10_001 },
  writable: [],
  scratchBytes: 16 * 1024 * 1024,
  stopGraceMs: 5000,
  generation: 1,
  ...app,
})
