import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOf } from '../../../test/support/plan.ts'
import { checkPlan } from './stored-plan.ts'

for (const path of ['..', '../x', 'a/../b', 'a/..', '/etc', 'a\0b']) {
  test(`a stored plan with the path ${JSON.stringify(path)} is refused`, async () => {
    const plan = await planOf({ 'index.html': '' })
    checkPlan(plan)
    assert.throws(() => checkPlan({ ...plan, rootDirectory: path }), /leads out/)
    assert.throws(() => checkPlan({ ...plan, output: { ...plan.output, folder: path } }), /leads out/)
  })
}
