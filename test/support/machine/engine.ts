/** The real sandbox, for tests that run other people's programs. */
import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { type Engine, type Limits, openLimiter } from '../../../src/engines/index.ts'
import { openPlain } from '../../../src/engines/plain.ts'
import { openSandbox } from '../../../src/engines/sandbox/sandbox.ts'

export const limiter = await openLimiter({ name: `test${process.pid}` })

/** More than any test needs. */
export const LIMITS: Limits = {
  memoryBytes: 1024 ** 3,
  processes: 512,
  cpuWeight: 100,
  openFiles: 4096,
  fileBytes: 1024 ** 3,
  diskBytes: 1024 ** 3,
  diskFiles: null,
}

/** Whether tests of frozen programs have to be left out. */
export const needsFreezer = canFreeze() ? false : 'no cgroup here can be frozen'

function canFreeze(): boolean {
  const cgroup = limiter.cgroup('freezing', LIMITS)
  const isFrozen = cgroup.freeze()
  cgroup.thaw()
  void cgroup.leave()
  return isFrozen
}

export async function testSandbox(bubblewrap = '/usr/bin/bwrap'): Promise<Engine> {
  const engine = await openSandbox({ bubblewrap, folder: tmpdir(), limiter })
  assert.ok('start' in engine, 'the tests need bubblewrap')
  return engine
}

export const testPlain = (): Engine => openPlain(limiter)
