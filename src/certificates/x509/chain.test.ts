import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { HAS_OPENSSL } from '../../../test/support/edge/tls.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { CertificateRefused, CHAIN_BYTES, covers, KEY_BYTES, readCertificate, readIssued, renewalId } from './chain.ts'
import { alpnCertificate, certificateRequest, newKey } from './request.ts'

const skip = HAS_OPENSSL ? false : 'needs openssl'

/** A root that issued an intermediate, which issued a leaf for two names. */
async function makeChain(
  t: TestContext,
  { leafExtra = [] as string[], key = ['ec', 'ec_paramgen_curve:prime256v1'] } = {},
) {
  const folder = await temporaryFolder(t)
  const file = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const [type = '', option = ''] = key
  const newKeyArgs = ['-newkey', type, ...(option ? ['-pkeyopt', option] : []), '-nodes']
  const ca = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl('req', '-x509', ...ca, '-days', '30', '-subj', '/CN=Root', '-keyout', 'root.key', '-out', 'root.pem')
  const sign = async (name: string, issuer: string, keyArgs: string[], extensions: string[]) => {
    await writeFile(file(`${name}.ext`), extensions.join('\n'))
    openssl('req', '-new', ...keyArgs, '-subj', `/O=Test/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`)
    const by = ['-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`, '-CAcreateserial']
    openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      ...by,
      '-days',
      '20',
      '-extfile',
      `${name}.ext`,
      '-out',
      `${name}.pem`,
    )
  }
  await sign('inter', 'root', ca, ['basicConstraints=critical,CA:TRUE'])
  await sign('leaf', 'inter', newKeyArgs, ['subjectAltName=DNS:www.example.com,DNS:*.shop.example.com', ...leafExtra])
  const read = (name: string) => readFile(file(name), 'utf8')
  return {
    leaf: await read('leaf.pem'),
    inter: await read('inter.pem'),
    root: await read('root.pem'),
    key: await read('leaf.key'),
  }
}

const now = () => Date.now() + 1000

test('a chain and its key are read, in one form', { skip }, async (t) => {
  const { leaf, inter, root, key } = await makeChain(t)
  const read = readCertificate(`text before\n${leaf}\n\n${inter}${root}`, key, now())
  assert.deepEqual(read.names, ['www.example.com', '*.shop.example.com'])
  assert.equal(read.issuer, 'O=Test, CN=inter')
  assert.equal(read.chain.match(/BEGIN CERTIFICATE/g)?.length, 3)
  assert.ok(read.chain.startsWith('-----BEGIN CERTIFICATE-----\n'))
  assert.match(read.key, /^-----BEGIN PRIVATE KEY-----/)
  assert.ok(read.notBefore < Date.now() && read.notAfter > Date.now() + 19 * 24 * 3600 * 1000)
})

test('keys of RSA and P-384 are accepted', { skip }, async (t) => {
  for (const key of [['rsa:2048'], ['ec', 'ec_paramgen_curve:secp384r1']]) {
    const made = await makeChain(t, { key })
    assert.equal(readCertificate(`${made.leaf}${made.inter}`, made.key, now()).names.length, 2)
  }
})

test('what a server cannot use is refused, with what is wrong and in which field', { skip }, async (t) => {
  const { leaf, inter, root, key } = await makeChain(t)
  const weak = await makeChain(t, { key: ['rsa:1024'] })
  const huge = await makeChain(t, { key: ['rsa:4608', 'rsa_keygen_primes:4'] })
  const curve = await makeChain(t, { key: ['ec', 'ec_paramgen_curve:secp521r1'] })
  const ed = await makeChain(t, { key: ['ed25519'] })
  const client = await makeChain(t, { leafExtra: ['extendedKeyUsage=clientAuth'] })
  const nameless = await makeChain(t, { leafExtra: ['subjectAltName=IP:127.0.0.1'] })
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  const locked = createPrivateKey(key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
  const year = 365 * 24 * 3600 * 1000
  const table: [what: string, field: string, message: RegExp, chain: string, key: string, at?: number][] = [
    ['no certificate', 'chain', /must be certificates as PEM/, 'hello', key],
    ['a key instead of a chain', 'chain', /must be certificates as PEM/, key, key],
    ['a damaged certificate', 'chain', /certificate 1 is damaged/, leaf.replace('MII', 'AAA'), key],
    ['a chain that is cut off', 'chain', /certificate 2 has no end/, leaf + inter.slice(0, 200), key],
    ['the wrong order', 'privateKey', /is not the key of the first certificate/, inter + leaf, key],
    ['a missing link', 'chain', /certificate 2 did not issue certificate 1/, leaf + root, key],
    ['intermediates in the wrong order', 'chain', /certificate 2 did not issue/, leaf + root + inter, key],
    ['too many certificates', 'chain', /more than 10 certificates/, leaf + inter.repeat(10), key],
    ['a chain that is too large', 'chain', /more than 65536 bytes/, leaf + ' '.repeat(CHAIN_BYTES), key],
    ['a key that is too large', 'privateKey', /more than 16384 bytes/, leaf, key + ' '.repeat(KEY_BYTES)],
    ['the key of another', 'privateKey', /is not the key of the first certificate/, leaf + inter, String(other)],
    ['no key', 'privateKey', /must be one private key/, leaf + inter, 'hello'],
    ['a key with a password', 'privateKey', /protected by a password/, leaf + inter, String(locked)],
    ['a short RSA key', 'privateKey', /RSA with 2048 to 4096 bits/, weak.leaf + weak.inter, weak.key],
    ['an RSA key that costs much', 'privateKey', /RSA with 2048 to 4096 bits/, huge.leaf + huge.inter, huge.key],
    ['another curve', 'privateKey', /P-256 or P-384/, curve.leaf + curve.inter, curve.key],
    ['another kind of key', 'privateKey', /P-256 or P-384/, ed.leaf + ed.inter, ed.key],
    ['one for clients', 'chain', /not for servers/, client.leaf + client.inter, client.key],
    ['one without a DNS name', 'chain', /names no host/, nameless.leaf + nameless.inter, nameless.key],
    ['an expired one', 'chain', /has expired: the certificate was valid until/, leaf + inter, key, Date.now() + year],
    ['one of tomorrow', 'chain', /is not valid yet/, leaf + inter, key, Date.now() - year],
  ]
  for (const [what, field, message, chain, keyPem, at = now()] of table) {
    assert.throws(
      () => readCertificate(chain, keyPem, at),
      (error) => error instanceof CertificateRefused && error.field === field && message.test(error.message),
      what,
    )
  }
})

test('what a CA sent must be for the key and the name of the order', { skip }, async (t) => {
  const { leaf, inter, key } = await makeChain(t)
  assert.equal(readIssued(leaf + inter, key, 'www.example.com').names.length, 2)
  assert.throws(() => readIssued(leaf + inter, key, 'other.example.com'), /does not name other.example.com/)
  assert.throws(() => readIssued(inter + leaf, key, 'www.example.com'), /not for the key of the order/)
})

test('a wildcard covers one label', () => {
  const table: [string, string, boolean][] = [
    ['www.example.com', 'www.example.com', true],
    ['*.example.com', 'www.example.com', true],
    ['*.example.com', 'a.b.example.com', false],
    ['*.example.com', 'example.com', false],
    ['example.com', 'www.example.com', false],
  ]
  for (const [pattern, host, is] of table) assert.equal(covers(pattern, host), is, `${pattern} ${host}`)
})

test('a request names its hosts and is signed by its key', { skip }, async () => {
  const key = await newKey()
  const request = certificateRequest(key, ['www.example.com', '*.example.com'])
  const shown = execFileSync('openssl', ['req', '-inform', 'DER', '-noout', '-text', '-verify'], {
    input: request,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  assert.match(shown, /DNS:www\.example\.com, DNS:\*\.example\.com/)
  assert.match(shown, /prime256v1/)
})

test('the certificate of TLS-ALPN-01 names one host and has the proof as a critical extension', { skip }, async () => {
  const key = await newKey()
  const pem = alpnCertificate(key, 'www.example.com', 'token.thumbprint', Date.now())
  const certificate = new X509Certificate(pem)
  assert.equal(certificate.subjectAltName, 'DNS:www.example.com')
  assert.ok(certificate.checkPrivateKey(createPrivateKey(key)) && certificate.verify(certificate.publicKey))
  const shown = execFileSync('openssl', ['x509', '-noout', '-text'], { input: pem, encoding: 'utf8' })
  assert.match(shown, /1\.3\.6\.1\.5\.5\.7\.1\.31: critical/)
})

/** The example of RFC 9773, section 4.1 and appendix A. */
const EXAMPLE = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----
`

test('the id for renewal information is that of the RFC', () => {
  assert.equal(renewalId(EXAMPLE), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
})
