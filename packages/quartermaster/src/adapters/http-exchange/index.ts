export {
  createHttpExchange,
  Dropped,
  type ExchangeRequest,
  type HttpExchange,
  sendAlone,
} from './http-exchange.ts'
