export const greet = (from) => `${process.env.GREETING ?? 'Hello'} from ${from}`
