/** Fields of a certificate that `X509Certificate` of Node does not give. */
import * as der from './der.ts'

const EXTENSIONS = 0xa3
const VERSION = 0xa0

/** The value of an extension; undefined where the certificate does not have it. */
export function extensionOf(certificate: Buffer, id: string): Buffer | undefined {
  const extensions = fieldsOf(certificate).find(({ tag }) => tag === EXTENSIONS)
  if (!extensions) return undefined
  const wanted = der.read(der.oid(id)).body
  for (const { body } of der.readAll(der.read(extensions.body).body)) {
    const [found, ...others] = der.readAll(body)
    if (found?.body.equals(wanted)) return others.at(-1)?.body
  }
  return undefined
}

/** By what a CA knows a certificate: the name and the key of the issuer, and the number that it gave. All as in DER. */
export function identityOf(certificate: Buffer): { serial: Buffer; issuer: Buffer; publicKey: Buffer } {
  const fields = fieldsOf(certificate)
  const [serial, , issuer, , , keyInfo] = fields[0]?.tag === VERSION ? fields.slice(1) : fields
  const key = keyInfo && der.readAll(keyInfo.body)[1]
  if (!serial || !issuer || !key) throw new RangeError('a certificate is cut off')
  // A string of bits begins with the number of those that are not used.
  return { serial: serial.raw, issuer: issuer.raw, publicKey: key.body.subarray(1) }
}

/** Of the part that the issuer signed. */
function fieldsOf(certificate: Buffer): der.Element[] {
  const [signed] = der.readAll(der.read(certificate).body)
  return der.readAll(signed?.body ?? Buffer.alloc(0))
}
