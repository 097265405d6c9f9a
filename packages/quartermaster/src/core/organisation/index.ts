export { type Bearer, createTokens, type TokenHolder, type Tokens, type TokensDeps } from './tokens.ts'
