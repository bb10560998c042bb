/** Whether a visitor's connection to the edge itself is encrypted. */
export const isEncrypted = (socket: object): boolean => 'encrypted' in socket && socket.encrypted === true
