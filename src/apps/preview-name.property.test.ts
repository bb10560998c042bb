import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LIMITS, names } from '../contract/index.ts'
import { previewHostLabel } from './label.ts'
import { previewName } from './preview-name.ts'

/** Branches, and other lines of text of their length. */
const isLine = new RegExp(names.lineOfText, 'u')
const lines = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: LIMITS.branchLength }),
    fc.array(fc.constantFrom('feature', 'Login form', '/', '-', 'ü', 'a', 'A', '😀', '.'), {
      minLength: 1,
      maxLength: 60,
    }),
  )
  .map((given) => (typeof given === 'string' ? given : given.join('')))
  .filter((text) => text.length <= LIMITS.branchLength && isLine.test(text))
const apps = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/)
const isDisplayName = new RegExp(String(names.displayName.pattern), 'u')

test('every branch gives a displayName that is valid, and that no other environment has', () => {
  fc.assert(
    fc.property(lines, fc.array(lines, { maxLength: 5 }), (branch, others) => {
      const taken: string[] = []
      for (const one of [branch, branch.toUpperCase().slice(0, LIMITS.branchLength), ...others].filter((text) =>
        isLine.test(text),
      )) {
        if (taken.includes(one)) continue
        const name = previewName(one, taken)
        assert.ok(name.length <= LIMITS.textLength && isDisplayName.test(name), name)
        assert.ok(!taken.some((before) => names.fold(before) === names.fold(name)), name)
        assert.equal(previewName(one, taken), name)
        taken.push(name)
      }
    }),
  )
})

test('every branch gives a DNS label, the same one each time, and two branches give two', () => {
  fc.assert(
    fc.property(apps, lines, lines, (app, branch, other) => {
      const label = previewHostLabel(app, 'app-id', branch)
      assert.match(label, /^[a-z0-9]+(-[a-z0-9]+)*$/)
      assert.ok(label.length <= 63)
      assert.equal(previewHostLabel(app, 'app-id', branch), label)
      assert.notEqual(previewHostLabel(app, 'another-id', branch), label)
      if (other !== branch) assert.notEqual(previewHostLabel(app, 'app-id', other), label)
    }),
  )
})

test('branches that read the same have the branch in their names, and labels of their own', () => {
  assert.equal(previewName('feature/Login form', ['Production']), 'feature/Login form')
  assert.match(previewName('production', ['Production']), /^production-[0-9a-f]{8}$/)
  const labels = ['feature/login', 'feature-login', 'Feature/Login'].map((one) => previewHostLabel('shop', 'id', one))
  assert.equal(new Set(labels).size, 3)
  for (const label of labels) assert.match(label, /^shop-feature-login-[0-9a-z]{10}$/)
})
