/** Frozen groups of the kernel, in each of the ways that this machine has. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { openCgroup1 } from '../../../src/engines/limits/cgroup1.ts'
import { groupAt } from '../../../src/engines/limits/cgroup2.ts'
import { enter } from '../../../src/engines/limits/enter.ts'
import { kernelFiles } from '../../../src/engines/limits/files.ts'
import { type Group, processesIn } from '../../../src/engines/limits/group.ts'
import { readHierarchies } from '../../../src/engines/limits/hierarchies.ts'
import { cgroupName } from '../../../src/engines/limits/owner.ts'
import { sweepCgroups } from '../../../src/engines/limits/sweep.ts'
import { LIMITS } from '../../support/machine/engine.ts'
import { until } from '../../support/until.ts'

const NAME = `freezer${process.pid}`
const { unified, controllers } = readHierarchies('/sys/fs/cgroup')

/** Version 2 needs no controller to freeze. Undefined where no group can be made. */
function inVersion2(cgroup: string): Group | undefined {
  const parent = `${unified?.own}/headland-${NAME}`
  try {
    kernelFiles.make(parent)
    kernelFiles.make(`${parent}/${cgroup}`)
  } catch {
    return undefined
  }
  const group = groupAt(`${parent}/${cgroup}`, parent, kernelFiles)
  return group.freezer() ? group : undefined
}

const inVersion1 = (cgroup: string): Group | undefined =>
  controllers.has('freezer')
    ? openCgroup1({ unified: undefined, controllers }, NAME, kernelFiles)?.make(cgroup, LIMITS)
    : undefined

async function busyIn(t: TestContext, group: Group): Promise<number> {
  const [file = '', ...args] = enter(
    { procsFiles: group.procsFiles, limits: LIMITS, userProcesses: undefined, niceness: 0 },
    ['sh', '-c', 'while :; do :; done'],
  )
  const child = spawn(file, args, { env: { PATH: '/usr/bin:/bin' }, stdio: 'ignore' })
  t.after(async () => {
    group.end()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    await until(() => group.remove())
  })
  const pid = child.pid as number
  await until(() => group.processes().includes(pid) && ticksOf(pid) > 0)
  return pid
}

/** Of processor time. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

/** Version 2 leaves it sleeping, version 1 uninterruptible: what runs is neither. */
const isFrozen = (pid: number): boolean => /\) [SD] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))

/** A process that was killed and not yet waited for counts as dead. */
const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))

/** It would have got some of the processor in this time, if it could run. */
function giveItTime() {
  execFileSync(process.execPath, ['-e', 'while (process.cpuUsage().user < 200e3);'])
}

let made = 0
for (const [version, make] of [
  ['version 2', inVersion2],
  ['version 1', inVersion1],
] as const) {
  const trial = make(`trial${++made}`)
  trial?.remove()
  const skip = trial ? false : `no group of ${version} can be frozen here`

  test(`${version}: a frozen process does nothing, and goes on when it is thawed`, { skip }, async (t) => {
    const group = make(`job${++made}`) as Group
    const pid = await busyIn(t, group)
    assert.equal(group.freezer()?.freeze(), true)
    // It may take a moment until it has left what it does.
    await until(() => isFrozen(pid))
    const before = ticksOf(pid)
    giveItTime()
    assert.equal(ticksOf(pid), before)
    group.freezer()?.thaw()
    await until(() => ticksOf(pid) > before)
  })

  test(`${version}: a frozen process ends with its group`, { skip }, async (t) => {
    const group = make(`job${++made}`) as Group
    const pid = await busyIn(t, group)
    group.freezer()?.freeze()
    group.end()
    await until(() => !isAlive(pid))
  })

  test(`${version}: frozen processes of a service that died end with the next sweep`, { skip }, async (t) => {
    // Made by a process with this id that was started long before.
    const [namespace, id, , ...rest] = cgroupName('job').split('_')
    const group = make([namespace, id, '1', ...rest].join('_')) as Group
    const pid = await busyIn(t, group)
    group.freezer()?.freeze()
    const mounts = [unified, ...controllers.values()].flatMap((hierarchy) => hierarchy?.mount ?? [])
    const swept = { mounts: new Set(mounts), name: NAME, active: new Set<string>(), files: kernelFiles }
    assert.equal(await sweepCgroups({ ...swept, endProcesses: true }), 1)
    assert.equal(isAlive(pid), false)
    for (const folder of group.procsFiles) assert.deepEqual(processesIn(kernelFiles, folder), [])
  })
}
