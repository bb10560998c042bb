export { type Certificates, createCertificates, readUpload, renderCertificate } from './certificates.ts'
export { type AcmeSettings, openCertificates } from './open.ts'
export { createOperatorCertificates, type OperatorCertificates } from './operator.ts'
export { type CertificateRecords, createCertificateRecords } from './store/records.ts'
