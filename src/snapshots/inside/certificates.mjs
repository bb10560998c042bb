/**
 * A CA for one build and the certificate that it signs, for the named hosts. The key of the CA is gone when this returns: nothing
 * else can be signed with it.
 */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const OID = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKey: '2.5.29.14',
  keyUsage: '2.5.29.15',
  altNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKey: '2.5.29.35',
  extendedUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
}
const DAY_MS = 24 * 3600 * 1000

export function makeCertificates(names) {
  const [ca, leaf] = [newKey(), newKey()]
  const issuer = nameOf('Headland build')
  const caCertificate = certificate({
    ...{ subject: issuer, issuer, key: ca, signedBy: ca },
    extensions: [
      extension(OID.basicConstraints, sequence(encode(0x01, Buffer.from([0xff]))), { isCritical: true }),
      // keyCertSign
      extension(OID.keyUsage, encode(0x03, Buffer.from([2, 0x04])), { isCritical: true }),
      extension(OID.subjectKey, encode(0x04, keyId(ca))),
    ],
  })
  const values = names.map((name) => encode(0x82, Buffer.from(name, 'ascii')))
  const leafCertificate = certificate({
    ...{ subject: nameOf('Headland content snapshots'), issuer, key: leaf, signedBy: ca },
    extensions: [
      extension(OID.basicConstraints, sequence(), { isCritical: true }),
      // digitalSignature
      extension(OID.keyUsage, encode(0x03, Buffer.from([7, 0x80])), { isCritical: true }),
      extension(OID.extendedUsage, sequence(oid(OID.serverAuth))),
      extension(OID.altNames, sequence(...values)),
      extension(OID.authorityKey, sequence(encode(0x80, keyId(ca)))),
      extension(OID.subjectKey, encode(0x04, keyId(leaf))),
    ],
  })
  const key = leaf.privateKey.export({ type: 'pkcs8', format: 'pem' })
  return { ca: toPem(caCertificate), cert: toPem(leafCertificate), key }
}

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

const keyInfo = ({ publicKey }) => publicKey.export({ type: 'spki', format: 'der' })

const keyId = (key) => createHash('sha1').update(keyInfo(key)).digest()

function certificate({ subject, issuer, key, signedBy, extensions }) {
  const now = Date.now()
  const algorithm = sequence(oid(OID.ecdsaWithSha256))
  const body = sequence(
    encode(0xa0, encode(0x02, Buffer.from([2]))),
    encode(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    issuer,
    sequence(utcTime(now - DAY_MS), utcTime(now + 2 * DAY_MS)),
    subject,
    keyInfo(key),
    encode(0xa3, sequence(...extensions)),
  )
  return sequence(body, algorithm, encode(0x03, Buffer.from([0]), sign('sha256', body, signedBy.privateKey)))
}

const extension = (id, value, { isCritical = false } = {}) =>
  sequence(oid(id), ...(isCritical ? [encode(0x01, Buffer.from([0xff]))] : []), encode(0x04, value))

const nameOf = (text) => sequence(encode(0x31, sequence(oid(OID.commonName), encode(0x0c, Buffer.from(text)))))

const sequence = (...items) => encode(0x30, ...items)

/** DER (ITU-T X.690): a tag, a length, and the content. */
function encode(tag, ...content) {
  const body = Buffer.concat(content)
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body])
  const hex = body.length.toString(16)
  const length = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, body])
}

function oid(dotted) {
  const [first, second, ...others] = dotted.split('.').map(Number)
  const base128 = (number) => {
    const bytes = [number & 0x7f]
    for (let rest = number >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80)
    return bytes
  }
  return encode(0x06, Buffer.from([first * 40 + second, ...others.flatMap(base128)]))
}

function utcTime(ms) {
  const [date, time] = new Date(ms).toISOString().split('T')
  return encode(0x17, Buffer.from(`${date.slice(2).replaceAll('-', '')}${time.slice(0, 8).replaceAll(':', '')}Z`))
}

function toPem(content) {
  const lines = content.toString('base64').match(/.{1,64}/g)
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
