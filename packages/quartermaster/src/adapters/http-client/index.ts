export { AddressRefused, guardedLookup, leadsInside, type Resolve, refuseInside } from './address-guard.ts'
export { createEventParser, type EventParserOptions, type ServerEvent } from './event-parser.ts'
export {
  type BodyReader,
  BodyTooLong,
  createDiscard,
  type Discard,
  type HttpAnswer,
  type HttpBody,
  HttpFailure,
  type HttpHeaders,
  type HttpRequest,
  headerOf,
  isGood,
  MOST_HELD,
  MOST_SAID,
  OwnReason,
  type Reason,
  readShortText,
  readText,
  reasonOf,
  TAIL_MS,
  takeText,
} from './http-answer.ts'
export { createHttpClient, type HttpClient, type HttpClientOptions, namedHosts, refuseUnsafe } from './http-client.ts'
export { type ClosableWebClient, createWebClient, type WebClientOptions } from './web-client.ts'
