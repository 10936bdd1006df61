-- Haskell's own stack lies in the heap: what can be had is the name of the function that runs. Chain SECONDS
module Main (main) where

import Data.Bits (shiftR, xor)
import Data.Word (Word64)
import System.CPUTime (getCPUTime)
import System.Environment (getArgs)

leafWork :: Word64 -> Word64
leafWork n0 = go n0 (400000 :: Int)
  where
    go :: Word64 -> Int -> Word64
    go n 0 = n
    go n i = go ((n * 6364136223846793005 + 1442695040888963407) `xor` (n `shiftR` 7)) (i - 1)
{-# NOINLINE leafWork #-}

outerWork :: Integer -> Word64 -> IO Word64
outerWork end n = do
  now <- getCPUTime
  if now > end then pure n else do
    let r = leafWork n
    r `seq` outerWork end (r + 1)
{-# NOINLINE outerWork #-}

main :: IO ()
main = do
  [s] <- getArgs
  now <- getCPUTime
  r <- outerWork (now + round (1e12 * (read s :: Double))) 1
  print r
