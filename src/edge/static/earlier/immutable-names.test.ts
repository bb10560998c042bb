import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { immutableNameOf } from './immutable-names.ts'

test('scripts, styles, fonts, images and source maps with a hash in their name are kept', () => {
  for (const path of [
    '/_next/static/chunks/app/page-0a1b2c3d4e5f6071.js',
    '/_next/static/k3Yb_Q0pXl-9sD2fGhJkL/_buildManifest.js',
    '/_next/static/media/inter.0a1b2c3d.woff2',
    '/_nuxt/BcDeFgHi.js',
    '/_astro/hoisted.BxKdzAqp.css',
    '/_app/immutable/nodes/2.BxK3d9Aq.js',
    '/_build/assets/client-BcDeFgHi.js',
    '/assets/index-BxK3d9Aq.js',
    '/assets/index-BxK3d9Aq.js.map',
    '/assets/route-BcDeFgHi.js',
    '/assets/logo-BxK3d9Aq.svg',
    '/assets/module-BxK3d9Aq.wasm',
  ])
    assert.equal(immutableNameOf(path), path, path)
})

test('pages, data and files that may change under their name are not', () => {
  for (const path of [
    '/',
    '/index.html',
    '/script.js',
    '/assets/index.js',
    '/assets/photo-20240131.jpg',
    '/assets/my-favourite.js',
    '/assets/page-BxK3d9Aq.html',
    '/assets/data-BxK3d9Aq.json',
    '/assets/notes-BxK3d9Aq.txt',
    '/assets/feed-BxK3d9Aq.xml',
    '/assets/paper-BxK3d9Aq.pdf',
    '/assets/without-BxK3d9Aq',
    '/_nuxt/builds/meta/0a1b2c3d-1111.json',
    '/_next/data/k3YbQ0pXl9sD2f/about.json',
    '/_next/static/chunks/page.rsc',
    '/about.js/_next/static/x',
  ])
    assert.equal(immutableNameOf(path), undefined, path)
})

test('a base path in front of the folder does not matter, whatever it is', () => {
  const segment = fc.stringMatching(/^[a-z_]{1,12}$/)
  const prefix = fc
    .array(fc.oneof(segment, fc.constantFrom('assets', 'static')), { maxLength: 3 })
    .map((segments) => segments.map((one) => `/${one}`).join(''))
  const name = fc.constantFrom(
    '/_next/static/chunks/0a1b2c3d.js',
    '/_nuxt/BcDeFgHi.js',
    '/assets/index-BxK3d9Aq.js',
    '/static/js/main.0a1b2c3d.js',
  )
  fc.assert(
    fc.property(prefix, name, (before, path) => {
      assert.equal(immutableNameOf(`${before}${path}`), path)
    }),
  )
})
