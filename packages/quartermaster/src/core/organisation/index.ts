export { createTokens, type TokenHolder, type Tokens, type TokensDeps } from './tokens.ts'
