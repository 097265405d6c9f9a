export { AddressRefused, guardedLookup, isLoopback, leadsInside, type Resolve, refuseInside } from './address-guard.ts'
export { createEventParser, type EventParserOptions, type ServerEvent } from './event-parser.ts'
export {
  type BodyReader,
  type HttpAnswer,
  type HttpBody,
  HttpFailure,
  type HttpHeaders,
  type HttpRequest,
  headerOf,
  isGood,
} from './http-answer.ts'
export {
  BodyTooLong,
  createDiscard,
  type Discard,
  MOST_HELD,
  readShortText,
  readText,
  TAIL_MS,
  takeText,
} from './http-body.ts'
export { createHttpClient, type HttpClient, type HttpClientOptions } from './http-client.ts'
export { MOST_SAID, OwnReason, type Reason, reasonOf } from './http-reason.ts'
export { namedHosts, refuseUnsafe } from './named-hosts.ts'
export { type ClosableWebDesk, createWebDesk, type WebDeskOptions } from './web-desk.ts'
