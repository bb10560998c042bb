import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sentenceOf } from './fault-words.ts'

test('what is wrong with a field reads as a sentence about it', () => {
  assert.equal(sentenceOf('Name', 'must not be empty'), 'Name must not be empty.')
  assert.equal(
    sentenceOf('Folder of the app (optional)', 'has a wrong form: Apps.'),
    'Folder of the app has a wrong form: Apps.',
  )
  assert.equal(sentenceOf('CMS install', 'is required'), 'CMS install is required.')
  assert.equal(sentenceOf('Name', 'There is an app of this name already.'), 'There is an app of this name already.')
  assert.equal(sentenceOf('Name', 'PORT is given twice'), 'PORT is given twice.')
})
