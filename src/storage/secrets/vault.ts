/**
 * Secrets at rest. Values are sealed with AES-256-GCM under the master key, each bound to its place, so a sealed value
 * that is moved to another row does not open. It fails closed: a value that was sealed with another key, or changed, is
 * an error and never an empty string.
 */
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'

export type Vault = {
  /** Identifies the key without revealing it; stored in every sealed value. */
  keyId: string
  seal(plain: string, place: string): string
  open(sealed: string, place: string): string
  /**
   * A secret of 256 bits for a place, always the same: it need not be stored, and reveals nothing of the key or of
   * other secrets.
   */
  derive(place: string): string
}

export const MASTER_KEY_BYTES = 32

export function createVault(masterKey: Buffer): Vault {
  if (masterKey.length !== MASTER_KEY_BYTES) throw new Error(`the master key must have ${MASTER_KEY_BYTES} bytes`)
  const keyId = hash('sha256', Buffer.concat([Buffer.from('headland master key id\0'), masterKey]), 'hex').slice(0, 16)

  return {
    keyId,
    seal(plain, place) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', masterKey, nonce)
      cipher.setAAD(Buffer.from(place))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `v1.${keyId}.${nonce.toString('base64url')}.${body.toString('base64url')}`
    },
    open(sealed, place) {
      const [version, sealedWith, nonce, body] = sealed.split('.')
      if (version !== 'v1' || !nonce || !body) throw new VaultRefusal('a sealed value is malformed')
      if (sealedWith !== keyId) {
        throw new VaultRefusal(`a value was sealed with master key ${sealedWith}, and the key in use is ${keyId}`)
      }
      const bytes = Buffer.from(body, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', masterKey, Buffer.from(nonce, 'base64url'), {
        authTagLength: 16,
      })
      decipher.setAAD(Buffer.from(place))
      decipher.setAuthTag(bytes.subarray(-16))
      try {
        return decipher.update(bytes.subarray(0, -16), undefined, 'utf8') + decipher.final('utf8')
      } catch (cause) {
        throw new VaultRefusal('a sealed value was changed or moved', { cause })
      }
    },
    derive(place) {
      return Buffer.from(hkdfSync('sha256', masterKey, '', `headland derived secret\0${place}`, 32)).toString(
        'base64url',
      )
    },
  }
}

export class VaultRefusal extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'VaultRefusal'
  }
}
