export {
  type Id,
  isId,
  isRecord,
  isRequest,
  isResponse,
  keyOf,
  type Message,
  messagesFrom,
  metaOf,
  type Notification,
  type Params,
  parseJson,
  parseMessage,
  parseMessages,
  type Request,
  type Response,
} from './json-rpc.ts'
export {
  createLineSplitter,
  createLineWriter,
  type Line,
  type LineEnds,
  type LineSplitter,
  type LineSplitterOptions,
  type LineWriter,
  readLines,
} from './lines.ts'
export { claimedVersion, headerValue, parameterHeaders, standardHeaders } from './request-headers.ts'
