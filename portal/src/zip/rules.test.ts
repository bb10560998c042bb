/** The portal and the command line leave out the same files. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { readRules } from '../../../src/cli/archive/rules.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { holds } from '../../../test/support/fuzz.ts'
import { createRules, RULE_FILES, type Rules } from './rules.ts'

test('the files of a folder hold below it alone, and .headlandignore has the last word', () => {
  const top = createRules().within('', { git: 'dist/\n*.log\n# *.ts\n\n', own: '!keep.log\nsecret\n' })
  assert.ok(top.leavesOut('dist', true) && top.leavesOut('a/dist', true) && !top.leavesOut('dist', false))
  assert.ok(top.leavesOut('x.log', false) && !top.leavesOut('a/keep.log', false) && top.leavesOut('secret', false))
  const inside = top.within('a', { git: '/only\n!x.log\n', own: '' })
  assert.ok(inside.leavesOut('a/only', false) && !top.leavesOut('a/only', false) && !inside.leavesOut('only', false))
  assert.ok(!inside.leavesOut('a/x.log', false) && inside.leavesOut('x.log', false))
})

const STEPS = ['a', 'b.log', 'dist', 'a b', '[x]', '*'] as const
const pattern = fc
  .tuple(
    fc.constantFrom('', '!', '/', '#', '\\', ' '),
    fc.array(fc.constantFrom(...STEPS, '**', '?', 'a*', '*.log', '[ab]', '\\*'), { minLength: 1, maxLength: 3 }),
    fc.constantFrom('', '/', ' ', '/*', '\\ '),
  )
  .map(([before, steps, after]) => `${before}${steps.join('/')}${after}`)
const text = fc.array(pattern, { maxLength: 4 }).map((lines) => lines.join('\n'))
const texts = fc.record({ git: text, own: text })
const paths = fc.uniqueArray(fc.array(fc.constantFrom(...STEPS), { minLength: 1, maxLength: 3 }), { maxLength: 6 })

test('whatever the rules are, the portal leaves out what the command line does', async (t) => {
  const place = await temporaryFolder(t)
  await holds(
    fc.asyncProperty(texts, texts, fc.constantFrom(...STEPS), paths, async (top, below, folder, asked) => {
      const project = await mkdtemp(join(place, 'p-'))
      for (const [at, { git, own }] of [
        ['', top],
        [folder, below],
      ] as const) {
        await mkdir(join(project, at), { recursive: true })
        await writeFile(join(project, at, RULE_FILES.git), git)
        await writeFile(join(project, at, RULE_FILES.own), own)
      }
      const cli = await (await readRules(project)).within('')
      const ours = createRules().within('', top)
      const [cliBelow, oursBelow] = [await cli.within(folder), ours.within(folder, below)]
      const same = (one: typeof cli, other: Rules, path: string) => {
        for (const kind of ['file', 'folder'] as const)
          assert.equal(other.leavesOut(path, kind === 'folder'), one.leavesOut(path, kind), `${path}, a ${kind}`)
      }
      // Paths in a folder that is left out are not checked.
      const isReached = (path: string, rules: Rules) => {
        for (let up = dirname(path); up !== '.'; up = dirname(up)) if (rules.leavesOut(up, true)) return false
        return true
      }
      for (const steps of asked) {
        const path = steps.join('/')
        if (isReached(path, ours)) same(cli, ours, path)
        if (isReached(`${folder}/${path}`, oursBelow)) same(cliBelow, oursBelow, `${folder}/${path}`)
      }
      await rm(project, { recursive: true })
    }),
    150,
  )
})
